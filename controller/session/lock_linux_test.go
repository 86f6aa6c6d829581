package session

import (
	"syscall"
	"testing"
)

// TestUnlock: a device is free when its lock is closed. A process that is being started has a copy
// of the lock's file.
func TestUnlock(t *testing.T) {
	in := Locks(t.TempDir())
	l, err := in.Take(t.Context(), "phone", false)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(l.file.Fd())) // as fork does
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if by := in.Holder("phone"); by != "" {
		t.Errorf("%s has the device", by)
	}
	if l, err = in.Take(t.Context(), "phone", false); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
