package link

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestProfilesAreDocumented compares the table of docs/test-network.md with the profiles.
func TestProfilesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/test-network.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Profiles() {
		c := p.Conditions
		if c.Down.Rate == 0 {
			continue
		}
		if p.Source == "" {
			t.Errorf("%s has no source", p.Name)
		}
		if row := fmt.Sprintf("| `%s` | %s | %s | %v | %s |\n", p.Name, c.Down.Rate, c.Up.Rate, c.RTT(),
			p.Source); !strings.Contains(string(doc), row) {
			t.Errorf("docs/test-network.md has no row\n%s", row)
		}
	}
}
