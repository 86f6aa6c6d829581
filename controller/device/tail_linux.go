package device

import "strings"

// Bounds of what an error quotes of a program's last words.
const (
	tailLines = 6
	tailSaid  = 300 // bytes
)

// said returns the last lines for the end of an error message, or "".
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ToValidUTF8(string(t.bytes), "?")
	if _, rest, more := strings.Cut(text, "\n"); more && len(t.bytes) == tailBytes {
		text = rest // the text before is the end of a line of unknown subject
	}
	var last []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !noise(line) {
			last = append(last, line)
		}
	}
	last = last[max(0, len(last)-tailLines):]
	for len(last) > 1 && len(strings.Join(last, " | ")) > tailSaid {
		last = last[1:]
	}
	if len(last) == 0 {
		return ""
	}
	return "; its last lines: " + clipped(strings.Join(last, " | "), tailSaid)
}

// clipped returns the beginning of a text.
func clipped(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// noise reports whether a line only complains about the message bus. Browsers get none, and
// complain about each service on it.
func noise(line string) bool {
	line = strings.ToLower(line)
	for _, of := range []string{"dbus", "d-bus", "failed to connect to the bus"} {
		if strings.Contains(line, of) {
			return true
		}
	}
	return false
}
