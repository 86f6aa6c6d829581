package adb

import (
	"context"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/controller/input"
)

// Reverse forwards a port of the device's loopback to the same port of this machine. So an address
// of this machine's loopback is the same page on the device. It lasts until the returned function
// is called, or the device is unplugged. A port that is already forwarded is an error.
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

// reverse requests a service of the device, of SERVICES.TXT. The device agrees twice: that it has
// the service, and that the request succeeded.
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
