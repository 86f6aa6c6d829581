package locate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// page answers as look.js does.
type page func(since time.Duration) (string, error)

type opened struct {
	page
	at time.Time
}

func (o opened) Evaluate(ctx context.Context, _ string) (string, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return o.page(time.Since(o.at))
}

const address = "https://a.test/"

func loaded(elements string) string {
	return `{"address": "https://www.a.test/#x", "loaded": true, "width": 800, "height": 600, ` +
		`"elements": [` + elements + `]}`
}

// TestElements: each element that cannot be acted on has a reason, and a moved page is named.
//
// Fault: A selector matches no element that can be clicked, or several
// Fault: An address leads to another page, such as a login
func TestElements(t *testing.T) {
	always := func(text string) page { return func(time.Duration) (string, error) { return text, nil } }
	late := func(since time.Duration) (string, error) {
		switch {
		case since < time.Second:
			return "", errors.New("navigated")
		case since < 2*time.Second:
			return strings.Replace(loaded(""), "https://www.a.test/#x", "about:blank", 1), nil
		case since < 6*time.Second:
			return loaded(`{"count": 0}`), nil
		}
		return loaded(`{"count": 1, "x": 5, "y": 6}`), nil
	}
	for name, tc := range map[string]struct {
		page page
		want string // place, or error
	}{
		"there":       {always(loaded(`{"count": 1, "x": 5, "y": 6}`)), "5,6"},
		"comes later": {late, "5,6"},
		"none":        {always(loaded(`{"count": 0}`)), `selector "#a" matches no element`},
		"several":     {always(loaded(`{"count": 3}`)), `selector "#a" matches 3 elements; name one of them`},
		"invalid":     {always(loaded(`{"invalid": true}`)), `selector "#a" is not valid CSS`},
		"hidden":      {always(loaded(`{"count": 1, "hidden": true}`)), `selector "#a" matches a hidden element`},
		"outside": {always(loaded(`{"count": 1, "outside": true}`)),
			`selector "#a" matches an element outside of the window, 800x600`},
		"covered": {always(loaded(`{"count": 1, "covered": "<p>"}`)),
			`selector "#a" matches an element below another one, <p>`},
		"a login": {always(strings.Replace(loaded(`{"count": 0}`), "www.a.test/#x", "in.test/?to=a", 1)),
			`selector "#a" matches no element; https://a.test/ led to https://in.test/?to=a`},
		"unreachable": {always(strings.Replace(loaded(`{"count": 0}`), "https://www.a.test/#x", "chrome-error://x", 1)),
			"the browser cannot show https://a.test/"},
		"moves": {func(since time.Duration) (string, error) {
			return loaded(fmt.Sprintf(`{"count": 1, "x": %d}`, since/time.Second)), nil
		}, "look for #a in https://a.test/: its place changes; use X,Y"},
		"loads forever": {always(strings.Replace(loaded(`{"count": 1, "x": 5, "y": 6}`), `"loaded": true`,
			`"loaded": false`, 1)), "5,6"},
		"not JSON": {always("x"), "invalid character"},
		"too few":  {always(loaded("")), "the page gave no places"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				found, err := find(ctx, opened{tc.page, time.Now()}, address, []string{"#a"})
				got := fmt.Sprint(err)
				if err == nil && len(found.Places) == 1 {
					got = fmt.Sprintf("%d,%d", found.Places[0].X, found.Places[0].Y)
				}
				if got != tc.want && !(name == "not JSON" && strings.Contains(got, tc.want)) {
					t.Errorf("%s", got)
				}
			})
		})
	}
}

// TestSame: browsers write hosts in lower case.
func TestSame(t *testing.T) {
	if !Same("http://WWW.A.test/b/", "https://a.test/b#c") || Same("https://a.test/b", "https://a.test/B") {
		t.Error("pages are told apart by more or less than they should be")
	}
}
