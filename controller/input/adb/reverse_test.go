package adb

import (
	"maps"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/controller/input/adb/adbtest"
)

func TestReverse(t *testing.T) {
	f := adbtest.New(t, "A\tdevice\n")
	d, err := server(f).Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.Reverse(t.Context(), 8080)
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.Reverse(t.Context(), 9090)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Reversed(), map[string]string{"tcp:8080": "tcp:8080", "tcp:9090": "tcp:9090"}; !maps.Equal(got,
		want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := d.Reverse(t.Context(), 8080); err == nil ||
		!strings.Contains(err.Error(), "lead port 8080 of device A to this machine: adb: cannot rebind") {
		t.Errorf("a port that is taken: %v", err)
	}
	for _, port := range []int{0, -1, 65536} {
		if _, err := d.Reverse(t.Context(), port); err == nil {
			t.Errorf("port %d is taken for one", port)
		}
	}
	for range 2 { // one that is gone need not be removed
		if err := first(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := f.Reversed(); len(got) != 1 {
		t.Errorf("%v is left", got)
	}
	f.Unplug()
	if err := second(t.Context()); err != nil {
		t.Errorf("it went with the device: %v", err)
	}
}
