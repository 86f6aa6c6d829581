//go:build amd64 || arm64

package windows

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/eideticker/eideticker/controller/input"
)

// api are the functions of the system that are not in x/sys.
type api struct {
	sendInput, initializeTouch, injectTouch, systemMetrics, dpiAwareness *windows.LazyProc
	counter, frequency                                                   *windows.LazyProc
}

func load() (*api, error) {
	user, kernel := windows.NewLazySystemDLL("user32.dll"), windows.NewLazySystemDLL("kernel32.dll")
	a := &api{
		sendInput: user.NewProc("SendInput"), initializeTouch: user.NewProc("InitializeTouchInjection"),
		injectTouch:   user.NewProc("InjectTouchInput"),
		systemMetrics: user.NewProc("GetSystemMetrics"), dpiAwareness: user.NewProc("SetProcessDpiAwarenessContext"),
		counter: kernel.NewProc("QueryPerformanceCounter"), frequency: kernel.NewProc("QueryPerformanceFrequency"),
	}
	for _, p := range []*windows.LazyProc{a.sendInput, a.initializeTouch, a.injectTouch, a.systemMetrics, a.counter,
		a.frequency} {
		if err := p.Find(); err != nil {
			return nil, err
		}
	}
	if a.dpiAwareness.Find() == nil { // from Windows 10 1703 on; pixels are pixels, on every screen
		const perMonitorV2 = ^uintptr(3) // -4
		a.dpiAwareness.Call(perMonitorV2)
	}
	return a, nil
}

// screen returns the size of the primary screen, in pixels.
func (a *api) screen() (width, height int, err error) {
	w, _, _ := a.systemMetrics.Call(0)
	h, _, _ := a.systemMetrics.Call(1)
	width, height = int(int32(w)), int(int32(h))
	if width < 1 || height < 1 {
		return 0, 0, fmt.Errorf("%w: no screen", input.ErrGone)
	}
	return width, height, nil
}

func (a *api) send(all []inputRecord) error {
	n, _, err := a.sendInput.Call(uintptr(len(all)), uintptr(unsafe.Pointer(&all[0])), unsafe.Sizeof(all[0]))
	if int(n) == len(all) {
		return nil
	}
	if errors.Is(err, windows.ERROR_SUCCESS) {
		err = errors.New("a program with more rights, the lock screen or a prompt of User Account Control is in front")
	}
	return fmt.Errorf("SendInput took %d of %d: %w", n, len(all), err)
}

func (a *api) beginTouch() error {
	const noFeedback = 3
	if ok, _, err := a.initializeTouch.Call(input.MaxFingers, noFeedback); ok == 0 {
		return fmt.Errorf("InitializeTouchInjection: %w", err)
	}
	return nil
}

func (a *api) touch(all []contact) error {
	if ok, _, err := a.injectTouch.Call(uintptr(len(all)), uintptr(unsafe.Pointer(&all[0]))); ok == 0 {
		return fmt.Errorf("InjectTouchInput: %w", err)
	}
	return nil
}
