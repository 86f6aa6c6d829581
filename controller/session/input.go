package session

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/adb"
	"github.com/eideticker/eideticker/controller/input/hid"
	"github.com/eideticker/eideticker/controller/input/remote"
	"github.com/eideticker/eideticker/controller/input/uinput"
	"github.com/eideticker/eideticker/controller/input/x11"
)

// openInput takes what reaches a device; nil where nothing does.
func openInput(ctx context.Context, in device.Input) (d input.Driver, err error) {
	params, err := url.ParseQuery(in.Params)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", in, err)
	}
	switch in.Kind {
	case device.InputNone:
		return nil, nil
	case device.InputX11:
		d, err = driver(x11.Open(in.Target))
	case device.InputUinput:
		d, err = uinput.Open(ctx, in.Target, params)
	case device.InputHID:
		d, err = hid.Open(ctx, in.Target, params)
	case device.InputADB:
		d, err = driver(adb.Open(ctx, adb.Options{Serial: in.Target}))
	case device.InputWindows, device.InputAgent:
		d, err = remote.Open(ctx, in.Target, params)
	default:
		err = fmt.Errorf("it is given by a browser that is started on a virtual display: %w", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", in, err)
	}
	return d, nil
}

// noteInput says how near to a hand the input comes, for those who read results.
func noteInput(env report.Environment, d input.Driver) {
	if d == nil {
		return
	}
	info := d.Info()
	env[report.EnvInput] = fmt.Sprintf("%s, %s", info.Driver, info.Realism)
	if info.Realism == input.Page {
		env[report.EnvInput] += ": less realistic than events of the operating system"
	}
}

// driver keeps a nil of a type from becoming a driver that is not nil.
func driver[D input.Driver](d D, err error) (input.Driver, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}
