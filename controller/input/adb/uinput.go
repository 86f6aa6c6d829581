package adb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
)

// uinput is the way through the command uinput, which makes input devices of what it reads: a
// command of JSON for each. Source: cmds/uinput/README.md of Android's frameworks/base.
type uinput struct {
	shell   *shell
	cancel  context.CancelFunc
	fingers fingers
	layout  input.Layout
	ended   chan struct{} // closed when the command has ended
	why     error         // read after ended
}

// Numbers of its devices, and of ioctls in linux/uinput.h that set their capabilities.
const (
	touchID, keyboardID = 1, 2

	setEvbit, setKeybit, setAbsbit, setPropbit = 100, 101, 103, 110
)

type uinputRegister struct {
	ID            int             `json:"id"`
	Command       string          `json:"command"`
	Name          string          `json:"name"`
	Vendor        int             `json:"vid"`
	Product       int             `json:"pid"`
	Bus           string          `json:"bus"`
	Configuration []uinputSetting `json:"configuration"`
	Axes          []uinputAxis    `json:"abs_info,omitempty"`
}

type uinputSetting struct {
	Type int   `json:"type"`
	Data []int `json:"data"`
}

type uinputAxis struct {
	Code int `json:"code"`
	Info struct {
		Value      int `json:"value"`
		Minimum    int `json:"minimum"`
		Maximum    int `json:"maximum"`
		Fuzz       int `json:"fuzz"`
		Flat       int `json:"flat"`
		Resolution int `json:"resolution"`
	} `json:"info"`
}

type uinputInject struct {
	ID      int    `json:"id"`
	Command string `json:"command"`
	Events  []int  `json:"events"`
}

func openUinput(ctx context.Context, d *Device, screen size) (way, error) {
	if _, err := d.Run(ctx, "command -v uinput"); err != nil {
		return nil, errors.Join(errors.New("the device has no such command"), err)
	}
	// It lives longer than the call that opens it.
	living, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s, err := d.shell(living, "uinput -")
	if err != nil {
		cancel()
		return nil, err
	}
	u := &uinput{shell: s, cancel: cancel, layout: input.US(), ended: make(chan struct{})}
	u.fingers.to = func(x, y float64) (int32, int32) {
		return int32(min(x, float64(screen.width-1))), int32(min(y, float64(screen.height-1)))
	}
	go u.listen()
	for _, r := range []uinputRegister{touchScreen(screen), keyboard()} {
		if err = u.tell(ctx, r); err != nil {
			break
		}
	}
	if err == nil {
		err = u.registered(ctx, d)
	}
	if err != nil {
		return nil, errors.Join(err, u.close())
	}
	return u, nil
}

func axis(code uint16, maximum int) (a uinputAxis) {
	a.Code, a.Info.Maximum = int(code), maximum
	return a
}

const deviceName = "Eideticker"

func touchScreen(s size) uinputRegister {
	return uinputRegister{
		ID: touchID, Command: "register", Name: deviceName + " touch", Vendor: 0x1d6b, Product: 0x0104, Bus: "usb",
		Configuration: []uinputSetting{
			{setEvbit, []int{int(evdev.Key), int(evdev.Abs)}}, {setKeybit, []int{int(evdev.BtnTouch)}},
			{setPropbit, []int{evdev.PropDirect}},
			{setAbsbit, []int{int(evdev.AbsMTSlot), int(evdev.AbsMTTrackingID), int(evdev.AbsMTPositionX),
				int(evdev.AbsMTPositionY)}},
		},
		Axes: []uinputAxis{
			axis(evdev.AbsMTSlot, input.MaxFingers-1), axis(evdev.AbsMTTrackingID, 0x7fff),
			axis(evdev.AbsMTPositionX, s.width-1), axis(evdev.AbsMTPositionY, s.height-1),
		},
	}
}

func keyboard() uinputRegister {
	var all []int
	for _, k := range input.Keys() {
		c, _ := k.Codes()
		all = append(all, int(c.Evdev))
	}
	slices.Sort(all)
	return uinputRegister{
		ID: keyboardID, Command: "register", Name: deviceName + " keyboard", Vendor: 0x1d6b, Product: 0x0104,
		Bus:           "usb",
		Configuration: []uinputSetting{{setEvbit, []int{int(evdev.Key)}}, {setKeybit, all}},
	}
}

// tell writes one command.
func (u *uinput) tell(ctx context.Context, command any) error {
	select {
	case <-u.ended:
		return u.why
	default:
	}
	b, err := json.Marshal(command)
	if err != nil {
		return err
	}
	return u.shell.write(ctx, append(b, '\n'))
}

// listen waits for the command's end, and keeps what it says last.
func (u *uinput) listen() {
	defer close(u.ended)
	var said string
	for {
		kind, data, err := u.shell.read()
		switch {
		case err != nil:
			u.why = fmt.Errorf("uinput: %w", err)
			return
		case kind == packetExit:
			u.why = fmt.Errorf("uinput has ended on the device: %.200s", said)
			return
		case kind == packetStderr:
			said = string(data)
		}
	}
}

// registered waits until Android knows both devices, since earlier events are lost. It queries the
// list of devices, and repeats the query while they are missing.
func (u *uinput) registered(ctx context.Context, d *Device) error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("its devices did not appear within %v", patience))
	defer cancel()
	const command = "getevent -i 2>/dev/null | grep -c '" + deviceName + "'; dumpsys input | grep -c '" + deviceName +
		" \\(touch\\|keyboard\\)'"
	for {
		select {
		case <-u.ended:
			return u.why
		default:
		}
		said, err := d.Run(ctx, command)
		var failed *exitError
		if err != nil && !errors.As(err, &failed) {
			return err
		}
		var nodes, known int
		if n, _ := fmt.Sscan(said, &nodes, &known); n == 2 && known >= 2 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
}

func (u *uinput) plan(actions []input.Action) (func(context.Context) error, error) {
	var all []evdev.Event
	var err error
	id, before := keyboardID, u.fingers.down
	if ofFingers(actions[0]) {
		id = touchID
		all, err = u.fingers.report(actions)
	} else {
		all, err = keys(u.layout, actions)
	}
	if err != nil {
		return nil, err
	}
	events := make([]int, 0, 3*len(all))
	for _, e := range all {
		events = append(events, int(e.Type), int(e.Code), int(e.Value))
	}
	return func(ctx context.Context) error {
		err := u.tell(ctx, uinputInject{id, "inject", events})
		if err != nil {
			u.fingers.keep(before, actions)
		}
		return err
	}, nil
}

func (*uinput) name() string { return "uinput" }

// close ends the command: with its input, its devices go.
func (u *uinput) close() error {
	u.cancel()
	u.shell.close()
	<-u.ended
	return nil
}
