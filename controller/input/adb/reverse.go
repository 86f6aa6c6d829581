package adb

import (
	"context"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/controller/input"
)

// Reverse has a port of the device's own loopback lead to the same one of this machine, so that an
// address of this machine's loopback is the same page on the device. It stays until the returned
// function is called, or the device is unplugged. A port that leads somewhere already is left
// alone: that is an error.
func (d *Device) Reverse(ctx context.Context, port int) (remove func(context.Context) error, err error) {
	if port < 1 || port > 0xffff {
		return nil, fmt.Errorf("adb: port %d: want 1 to 65535", port)
	}
	if err := d.reverse(ctx, fmt.Sprintf("forward:norebind:tcp:%d;tcp:%[1]d", port)); err != nil {
		return nil, fmt.Errorf("lead port %d of device %s to this machine: %w", port, d.Serial, err)
	}
	return func(ctx context.Context) error {
		err := d.reverse(ctx, fmt.Sprintf("killforward:tcp:%d", port))
		if errors.Is(err, input.ErrGone) {
			return nil // it went with the device
		}
		return err
	}, nil
}

// reverse asks a service of the device, of SERVICES.TXT. It agrees twice: that it is there, and
// that it has done what was asked.
func (d *Device) reverse(ctx context.Context, request string) error {
	ctx, cancel := d.limited(ctx, "reverse:"+request)
	defer cancel()
	c, err := d.server.dial(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	for _, r := range []string{"host:transport:" + d.Serial, "reverse:" + request} {
		if err := c.ask(r); err != nil {
			return ended(ctx, gone(err))
		}
	}
	return ended(ctx, gone(c.status("reverse:"+request)))
}
