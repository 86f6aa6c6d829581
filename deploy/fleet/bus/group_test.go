package bus

import "testing"

// TestGroup: a closed group has waited for all functions, and begins no other.
func TestGroup(t *testing.T) {
	var g group
	ended, begun := false, false
	g.begin(func() { ended = true })
	g.close()
	g.begin(func() { begun = true })
	g.running.Wait()
	if !ended || begun {
		t.Errorf("ended: %v, begun after the end: %v", ended, begun)
	}
}
