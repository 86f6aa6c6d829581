//go:build !rigvm

package uinput

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/evdev"
)

// TestABIAgainstHeaders has the C compiler say what the kernel's headers say. Where the build has
// cgo, both are there.
func TestABIAgainstHeaders(t *testing.T) {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("there is no C compiler here: ", err)
	}
	var c strings.Builder
	c.WriteString("#include <stddef.h>\n#include <linux/uinput.h>\n" +
		"#define CHECK(what, ours, theirs) _Static_assert((ours) == (theirs), what)\n")
	for theirs, ours := range map[string]uint64{
		"UI_DEV_CREATE": uiDevCreate, "UI_DEV_DESTROY": uiDevDestroy, "UI_DEV_SETUP": uiDevSetup,
		"UI_ABS_SETUP": uiAbsSetup,
		"UI_SET_EVBIT": uiSetEvBit, "UI_SET_KEYBIT": uiSetKeyBit, "UI_SET_RELBIT": uiSetRelBit,
		"UI_SET_PROPBIT":     uiSetPropBit,
		"UI_GET_SYSNAME(64)": uiGetSysname, "BUS_VIRTUAL": busVirtual,
		"sizeof(struct uinput_setup)":                           uint64(unsafe.Sizeof(setup{})),
		"sizeof(struct uinput_abs_setup)":                       uint64(unsafe.Sizeof(absSetup{})),
		"offsetof(struct uinput_setup, name)":                   uint64(unsafe.Offsetof(setup{}.name)),
		"offsetof(struct uinput_setup, ff_effects_max)":         uint64(unsafe.Offsetof(setup{}.effects)),
		"offsetof(struct uinput_abs_setup, absinfo.minimum)":    uint64(unsafe.Offsetof(absSetup{}.minimum)),
		"offsetof(struct uinput_abs_setup, absinfo.maximum)":    uint64(unsafe.Offsetof(absSetup{}.maximum)),
		"offsetof(struct uinput_abs_setup, absinfo.resolution)": uint64(unsafe.Offsetof(absSetup{}.resolution)),
		"sizeof(struct input_event)":                            evdev.Size,
		"EV_SYN":                                                uint64(evdev.Syn), "EV_KEY": uint64(evdev.Key),
		"EV_REL": uint64(evdev.Rel), "EV_ABS": uint64(evdev.Abs), "EV_MSC": uint64(evdev.Msc),
		"SYN_REPORT": uint64(evdev.Report), "SYN_DROPPED": uint64(evdev.Dropped), "REL_X": uint64(evdev.RelX),
		"REL_Y":     uint64(evdev.RelY),
		"REL_WHEEL": uint64(evdev.RelWheel), "REL_HWHEEL": uint64(evdev.RelHWheel),
		"REL_WHEEL_HI_RES": uint64(evdev.RelWheelHiRes), "REL_HWHEEL_HI_RES": uint64(evdev.RelHWheelHiRes),
		"BTN_LEFT": uint64(evdev.BtnLeft), "BTN_RIGHT": uint64(evdev.BtnRight), "BTN_MIDDLE": uint64(evdev.BtnMiddle),
		"BTN_SIDE":  uint64(evdev.BtnSide),
		"BTN_EXTRA": uint64(evdev.BtnExtra), "BTN_TOUCH": uint64(evdev.BtnTouch), "ABS_X": uint64(evdev.AbsX),
		"ABS_Y":       uint64(evdev.AbsY),
		"ABS_MT_SLOT": uint64(evdev.AbsMTSlot), "ABS_MT_POSITION_X": uint64(evdev.AbsMTPositionX),
		"ABS_MT_POSITION_Y":  uint64(evdev.AbsMTPositionY),
		"ABS_MT_TRACKING_ID": uint64(evdev.AbsMTTrackingID), "INPUT_PROP_POINTER": uint64(evdev.PropPointer),
		"INPUT_PROP_DIRECT": uint64(evdev.PropDirect),
	} {
		fmt.Fprintf(&c, "CHECK(%q, %dULL, (unsigned long long)(%s));\n", theirs, ours, theirs)
	}
	for key, code := range someKeys {
		c.WriteString(fmt.Sprintf("CHECK(%q, %d, %s);\n", key, codeOf(t, key), code))
	}
	file := filepath.Join(t.TempDir(), "abi.c")
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-fsyntax-only", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// someKeys are keys whose names in the kernel do not follow from ours.
var someKeys = map[input.Key]string{
	"KeyA": "KEY_A", "Digit0": "KEY_0", "Enter": "KEY_ENTER", "Escape": "KEY_ESC", "Backquote": "KEY_GRAVE",
	"IntlBackslash": "KEY_102ND",
	"PrintScreen":   "KEY_SYSRQ", "ContextMenu": "KEY_COMPOSE", "NumpadMultiply": "KEY_KPASTERISK",
	"NumpadDecimal": "KEY_KPDOT", "NumpadEnter": "KEY_KPENTER",
	"MetaLeft": "KEY_LEFTMETA", "MetaRight": "KEY_RIGHTMETA", "AltRight": "KEY_RIGHTALT", "F11": "KEY_F11",
	"F12": "KEY_F12", "Pause": "KEY_PAUSE",
	"ArrowUp": "KEY_UP", "PageDown": "KEY_PAGEDOWN", "Semicolon": "KEY_SEMICOLON", "Quote": "KEY_APOSTROPHE",
	"Space": "KEY_SPACE",
}

func codeOf(t *testing.T, key input.Key) uint16 {
	t.Helper()
	c, ok := key.Codes()
	if !ok {
		t.Fatalf("there is no key %s", key)
	}
	return c.Evdev
}
