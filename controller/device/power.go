package device

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/internal/strict"
	"github.com/eideticker/eideticker/pattern"
)

// Power says how a device is switched on and off: by commands, or by a line of a GPIO chip. The
// zero value is a device that cannot be.
type Power struct {
	On, Off []string // programs with their arguments; no shell reads them
	Chip    string   // device file of a GPIO chip; "": not by GPIO
	Line    int
	Low     bool // the line is low while the device is on
}

// Given says that the device can be switched.
func (p Power) Given() bool { return len(p.On) > 0 || p.Chip != "" }

// defaultChip is that of a board's own header.
const defaultChip = "/dev/gpiochip0"

var gpioForm = pattern.New(`^gpio:(?:(/dev/gpiochip[0-9]{1,3}):)?([0-9]{1,4})(\?active=low)?$`)

// parseGPIO reads "gpio:17", "gpio:/dev/gpiochip1:17", "gpio:17?active=low".
func parseGPIO(s string) (Power, error) {
	m := gpioForm.FindStringSubmatch(s)
	if m == nil {
		return Power{}, fmt.Errorf(
			"%q: must be gpio:17 or gpio:/dev/gpiochip1:17[?active=low], or {command: {on: …, off: …}}", strict.Clip(s))
	}
	p := Power{Chip: m[1], Low: m[3] != ""}
	if p.Chip == "" {
		p.Chip = defaultChip
	}
	p.Line, _ = strconv.Atoi(m[2]) // four digits
	return p, nil
}

// powerTimeout is how long a command may take: some wait until a socket in the network has
// answered.
const powerTimeout = 30 * time.Second

// Switch switches the device on or off. A GPIO line keeps its level until the returned release is
// called, or this process ends. The kernel then returns the line, and its later level depends on
// the chip. So keep release uncalled while the device must stay off. With commands, release does
// nothing. It is never nil.
func (p Power) Switch(ctx context.Context, on bool) (release func() error, err error) {
	release = func() error { return nil }
	switch {
	case !p.Given():
		return release, fmt.Errorf("no power entry for the device: %w", errors.ErrUnsupported)
	case p.Chip != "":
		line, err := holdLine(p.Chip, p.Line, on != p.Low)
		if err != nil {
			return release, fmt.Errorf("switch line %d of %s: %w", p.Line, p.Chip, err)
		}
		return line.Close, nil
	}
	words := p.Off
	if on {
		words = p.On
	}
	return release, runPower(ctx, words)
}

// Cycle switches the device off for some time, and then on. release is as that of Switch. The
// device is on again in the end, even if ctx ends meanwhile or switching it off fails halfway.
func (p Power) Cycle(ctx context.Context, off time.Duration) (release func() error, err error) {
	release, err = p.Switch(ctx, false)
	if err == nil {
		t := time.NewTimer(off)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	err = errors.Join(err, release()) // a line that is held cannot be had again
	release, e := p.Switch(context.WithoutCancel(ctx), true)
	return release, errors.Join(err, e, context.Cause(ctx))
}

func runPower(ctx context.Context, words []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, powerTimeout, fmt.Errorf("timeout after %v", powerTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var said limited
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		text := strings.TrimSpace(strings.ToValidUTF8(string(said), "?"))
		if text != "" {
			text = ": " + text
		}
		return fmt.Errorf("switch power by %s: %w%s", strict.Clip(strings.Join(words, " ")), err, text)
	}
	return nil
}

// limited keeps the beginning of what a program says.
type limited []byte

func (l *limited) Write(b []byte) (int, error) {
	const most = 500
	*l = append(*l, b[:min(len(b), most-min(most, len(*l)))]...)
	return len(b), nil
}
