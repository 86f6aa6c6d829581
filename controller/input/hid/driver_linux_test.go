//go:build !rigvm

package hid

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/internal/hand"
)

// pipes is a driver whose functions are pipes: what it writes is read at their other ends. A pipe
// that nobody reads is one that is not fetched.
func pipes(t *testing.T, kinds ...kind) (*driver, [parts]int) {
	t.Helper()
	d := &driver{screen: hand.Screen{Width: 1000, Height: 500}, layout: input.US(), clock: timeline.Monotonic(),
		encoder: equipped(kinds...), kinds: kinds}
	var ends [parts]int
	for _, k := range kinds {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		d.endpoints[k.part()] = &endpoint{path: string(k), fd: fds[1], clock: d.clock}
		ends[k.part()] = fds[0]
		t.Cleanup(func() { _ = unix.Close(fds[0]) })
	}
	t.Cleanup(func() { _ = d.end() })
	return d, ends
}

// read returns the output of a pipe, in reports of so many bytes.
func read(t *testing.T, end, size int) (all []string) {
	t.Helper()
	buf := make([]byte, 1<<16)
	n, err := unix.Read(end, buf)
	if errors.Is(err, unix.EAGAIN) {
		return nil
	}
	if err != nil || n%size != 0 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	for b := buf[:n]; len(b) > 0; b = b[size:] {
		all = append(all, hex.EncodeToString(b[:size]))
	}
	return all
}

func TestDo(t *testing.T) {
	d, ends := pipes(t, bootKeyboard, touchScreen)
	clock := timeline.Monotonic()
	due := clock.Now().Add(5_000_000)
	sent, err := d.Do(t.Context(), due, input.KeyDown{Key: "A"}, input.TouchDown{Finger: 2, X: 1, Y: 1})
	if err != nil || sent.Earliest < due || !sent.Valid() || sent.Latest > clock.Now() {
		t.Fatalf("due at %d: %v, %v", due, sent, err)
	}
	if got := fmt.Sprint(read(t, ends[theKeyboard], 8)); got != "[0200000000000000 0200040000000000]" {
		t.Error(got)
	}
	touched := read(t, ends[theTouchScreen], touchBytes)
	if len(touched) != 1 || !strings.HasPrefix(touched[0], "010102") || !strings.HasSuffix(touched[0], "01") {
		t.Error(touched)
	}
	// What cannot be done leaves all as it was.
	for _, a := range []input.Action{input.Move{}, input.Text{Text: "aß"}, input.TouchMove{Finger: 1},
		input.TouchMove{Finger: 2, X: 1000}} {
		if _, err := d.Do(t.Context(), 0, input.KeyUp{Key: "A"}, a); err == nil {
			t.Errorf("%v is done", a)
		}
	}
	if got := read(t, ends[theKeyboard], 8); got != nil {
		t.Errorf("what cannot be done sends %v", got)
	}
	if err := d.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(read(t, ends[theKeyboard], 8)); got != "[0200000000000000 0000000000000000]" {
		t.Error(got)
	}
	lifted := read(t, ends[theTouchScreen], touchBytes)
	if len(lifted) != 1 || !strings.HasPrefix(lifted[0], "010002") {
		t.Error(lifted)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Do(t.Context(), 0, input.KeyDown{Key: "a"}); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// TestLost: a host that disconnects in the middle is gone until it is back. Then the first report
// lifts everything.
//
// Fault: The device disconnects in the middle of a touch
func TestLost(t *testing.T) {
	d, ends := pipes(t, bootKeyboard, touchScreen)
	if _, err := d.Do(t.Context(), 0, input.KeyDown{Key: "a"}, input.TouchDown{Finger: 5, X: 1, Y: 1}); err != nil {
		t.Fatal(err)
	}
	// The cable is cut: nothing reads the keyboard any more.
	whole := d.endpoints[theKeyboard].fd
	var cut [2]int
	if err := unix.Pipe2(cut[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if err := unix.Close(cut[0]); err != nil {
		t.Fatal(err)
	}
	d.endpoints[theKeyboard].fd = cut[1]
	for range 2 {
		if _, err := d.Do(t.Context(), 0, input.KeyUp{Key: "a"}); !errors.Is(err, input.ErrGone) {
			t.Errorf("a key on a cut cable: %v", err)
		}
	}
	if err := d.Release(t.Context()); err != nil {
		t.Errorf("release on a cut cable: %v", err)
	}
	if err := unix.Close(cut[1]); err != nil {
		t.Fatal(err)
	}
	d.endpoints[theKeyboard].fd = whole
	read(t, ends[theKeyboard], 8)
	read(t, ends[theTouchScreen], touchBytes)

	if _, err := d.Do(t.Context(), 0, input.TouchUp{Finger: 5}); err == nil ||
		!strings.Contains(err.Error(), "is not down") {
		t.Errorf("a finger of before: %v", err)
	}
	if _, err := d.Do(t.Context(), 0, input.KeyDown{Key: "b"}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(read(t, ends[theKeyboard], 8)); got != "[0000000000000000 0000050000000000]" {
		t.Error(got)
	}
	lifted := read(t, ends[theTouchScreen], touchBytes)
	if len(lifted) != 1 || !strings.HasPrefix(lifted[0], "0100") || !strings.HasSuffix(lifted[0], "0a") {
		t.Errorf("the touch screen says %v", lifted)
	}
}

// TestGivenUp: a host that does not ask is waited for as long as the context allows.
func TestGivenUp(t *testing.T) {
	d, ends := pipes(t, bootKeyboard)
	full := make([]byte, 1<<16)
	for {
		if _, err := unix.Write(d.endpoints[theKeyboard].fd, full); err != nil {
			break
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := d.Do(ctx, 0, input.KeyDown{Key: "a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := d.endpoints[theKeyboard].send(ctx, make([]byte, 8)); err == nil ||
		!strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	_ = ends
}

// TestLeftovers: the gadget of a dead process is removed. Gadgets of live processes, and those of
// others, stay.
func TestLeftovers(t *testing.T) {
	root := t.TempDir()
	own, err := makeOwn(root)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := makeOwn(root); err != nil || again == own {
		t.Errorf("a second one: %s, %v", again, err)
	}
	began, err := begin(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// the same number, another process
	dead := filepath.Join(root, fmt.Sprintf("eideticker-%d-%s1-0", os.Getpid(), began))
	stays := []string{own, filepath.Join(root, "g1"), filepath.Join(root, "eideticker-x"),
		filepath.Join(root, "eideticker-1-2-3-4")}
	for _, dir := range append(stays, dead) {
		for _, sub := range []string{"configs/c.1/strings/0x409", "functions/hid.touch", "strings/0x409"} {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join(dir, "functions/hid.touch"),
			filepath.Join(dir, "configs/c.1/hid.touch")); err != nil {
			t.Fatal(err)
		}
	}
	// Those of configfs cannot be removed alone, and go with their parent.
	for _, sub := range []string{"configs/c.1/strings", "configs", "functions", "strings"} {
		defer func() { _ = os.RemoveAll(filepath.Join(dead, sub)) }()
	}
	removeLeftovers(root)
	for _, dir := range stays {
		if _, err := os.Lstat(filepath.Join(dir, "configs/c.1/hid.touch")); err != nil {
			t.Errorf("%s is damaged: %v", dir, err)
		}
	}
	for _, gone := range []string{"configs/c.1/hid.touch", "configs/c.1/strings/0x409"} {
		if _, err := os.Lstat(filepath.Join(dead, gone)); err == nil {
			t.Errorf("%s is left", gone)
		}
	}
}
