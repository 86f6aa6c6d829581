package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlacesOfUsers: X,Y and selectors are accepted, and bad ones are errors.
//
// Fault: A place on the command line is malformed or outside of the screen
func TestPlacesOfUsers(t *testing.T) {
	for text, want := range map[string]string{
		"300,400": "300 400", "50%, 12.5%": "50% 12.5%", "#buy": "#buy", "a[href='1,2']": "a[href='1,2']",
		".x, .y": ".x, .y", "300": `invalid place "300": must be X,Y or a selector`,
		"-5,10": "-5: must be 0 to 65536 pixels", "1,2,3": `invalid place "2,3": must be pixels such as 300, or a ` +
			`percentage such as "50%"`, " ": `invalid selector " ": must be CSS in one line of at most 1000 bytes`,
		"101%,5": "101%: must be 0% to 100%",
	} {
		p, err := ParsePoint(text)
		got := p.Selector
		if got == "" {
			got = fmt.Sprint(p.X, " ", p.Y)
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// TestPointsOfATest: each point of a test is found and replaced, and the test itself stays.
func TestPointsOfATest(t *testing.T) {
	const file = `name: a
url: https://a.test
end: 3s
steps:
  - click: "#a > b"
  - move: {from: .f, to: [9, 8]}
  - drag: {from: .g, via: [.h], to: "#a > b"}
  - wheel: {at: .w, y: 1}
  - touch: {fingers: [{path: [.i]}]}
  - repeat: {times: 2, steps: [{ping: {do: {tap: .t}, expect: {change: all}}}]}
`
	test, err := Parse("a.yaml", []byte(file), Known{})
	if err != nil {
		t.Fatal(err)
	}
	checkAgain(t, test)
	if got := strings.Join(test.Selectors(), "; "); got != "#a > b; .f; .g; .h; .w; .i; .t" {
		t.Errorf("selectors %s", got)
	}
	placed := test.MapPoints(func(p Point) Point {
		if p.Selector != "" {
			p = Point{X: Coordinate{Value: 7}}
		}
		return p
	})
	checkAgain(t, placed)
	if len(placed.Selectors()) > 0 || len(test.Selectors()) != 7 {
		t.Errorf("%q, and %q of the first", placed.Selectors(), test.Selectors())
	}
	if err := placed.Within(10, 9); err != nil {
		t.Error(err)
	}
	if err := placed.Within(10, 8); err == nil || err.Error() != "the point 9,8 is outside of the screen, 10x8" {
		t.Errorf("%v", err)
	}
}
