//go:build amd64 || arm64 || riscv64 || loong64

package certify

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/capture/v4l2"
)

// v4l2Output plays on a V4L2 node that sends video.
type v4l2Output struct {
	out    *v4l2.Output
	mode   Mode
	packer *frame.Packer
	pix    []byte
}

func openV4L2Output(uri, target string, query url.Values, o OutputOptions) (Output, error) {
	if err := frame.CheckParams("v4l2", query); err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrOutput, uri, err)
	}
	if o.Period.Den != 0 {
		return nil, fmt.Errorf("%w %q: its mode has a rate, which cannot be chosen", ErrOutput, uri)
	}
	out, err := v4l2.OpenOutput(target, o.Width, o.Height)
	if err != nil {
		return nil, fmt.Errorf("play on %s: %w", target, err)
	}
	info := out.Info()
	l, err := frame.NewLayout(info.Format)
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return &v4l2Output{
		out: out, packer: frame.NewPacker(l), pix: make([]byte, l.Size),
		mode: Mode{
			URI: uri, Name: fmt.Sprintf("%s (%s, %s), %v", info.Card, info.Driver, info.Bus, info.Format),
			Width: info.Format.Width, Height: info.Format.Height, Period: info.Period, Clocked: true,
		},
	}, nil
}

func (v *v4l2Output) Mode() Mode { return v.mode }

func (v *v4l2Output) Show(ctx context.Context, picture []byte) (timeline.Interval, error) {
	v.packer.BGRX(v.pix, picture)
	return v.out.Put(ctx, v.pix)
}

func (v *v4l2Output) Close() error { return v.out.Close() }
