package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/eideticker/eideticker/controller/device"
)

// TestDevicesOfABox reads the devices that the package installs, and those that it has as examples.
func TestDevicesOfABox(t *testing.T) {
	text, err := os.ReadFile("../../deploy/box/devices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?m)^# ([a-z0-9-]+: \{)`).ReplaceAll(text, []byte("$1"))
	for want, text := range map[int][]byte{1: text, 3: examples} {
		file := filepath.Join(t.TempDir(), "devices.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := device.Load(file, device.Known{Sources: []string{"v4l2", "x11"}})
		if err != nil || len(list.Devices) != want {
			t.Errorf("%+v, %v; want %d devices", list, err, want)
		}
	}
}
