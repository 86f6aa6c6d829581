package result

import "fmt"

// WindowNames returns what a run's windows are called: by name, and by number where several have
// one name.
func WindowNames(windows []Window) []string {
	names := make([]string, len(windows))
	times := map[string]int{}
	for i, w := range windows {
		name := w.Name
		if name == "" {
			name = "window"
		}
		if times[name]++; times[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, times[name])
		}
		names[i] = name
	}
	return names
}
