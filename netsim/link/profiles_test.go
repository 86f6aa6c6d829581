package link

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestProfilesAreInREADME: the table there has the figures that are here, and where they come from.
func TestProfilesAreInREADME(t *testing.T) {
	doc, err := os.ReadFile("../../README.md")
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
		if row := fmt.Sprintf("| `%s` | %s | %s | %v | %s |\n", p.Name, c.Down.Rate, c.Up.Rate, c.RTT(), p.Source); !strings.Contains(string(doc), row) {
			t.Errorf("README.md has no row\n%s", row)
		}
	}
}
