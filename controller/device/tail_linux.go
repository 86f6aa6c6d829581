package device

import "strings"

// tailLines is how many of a program's last lines an error quotes.
const tailLines = 6

// said returns the last lines for the end of an error message, or "".
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.bytes), "?"))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return "; its last lines: " + strings.Join(lines[max(0, len(lines)-tailLines):], " | ")
}
