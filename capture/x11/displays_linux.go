package x11

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/capture/x11/display"
)

// Displays asks every X display of this machine for its size. One that doesn't answer is listed
// with its error.
func Displays() []Display {
	var all []Display
	for _, name := range localDisplays() {
		d := Display{Name: name}
		a, err := parseDisplay(name)
		if err == nil {
			var c *connection
			if c, err = connect(a); err == nil {
				d.Width, d.Height = int(c.screen.WidthInPixels), int(c.screen.HeightInPixels)
				d.Server = c.server()
				d.Depth = int(c.screen.RootDepth)
				c.close()
			}
		}
		d.Err = err
		all = append(all, d)
	}
	return all
}

// localDisplays lists the displays that have a socket, in a folder or abstract. A server that was
// killed leaves its socket in the folder; nobody listens there.
func localDisplays() []string {
	var numbers []int
	add := func(s string) {
		if n, err := strconv.ParseUint(s, 10, 16); err == nil {
			numbers = append(numbers, int(n))
		}
	}
	entries, _ := os.ReadDir(display.SocketDir)
	for _, e := range entries {
		if number, ok := strings.CutPrefix(e.Name(), "X"); ok && listens(display.Address{Number: number}) {
			add(number)
		}
	}
	sockets, _ := os.ReadFile("/proc/net/unix")
	for line := range bytes.Lines(sockets) {
		if _, s, ok := bytes.Cut(bytes.TrimSpace(line), []byte("@"+display.SocketDir+"/X")); ok {
			add(string(s))
		}
	}
	slices.Sort(numbers)
	var names []string
	for _, n := range slices.Compact(numbers) {
		names = append(names, ":"+strconv.Itoa(n))
	}
	return names
}
