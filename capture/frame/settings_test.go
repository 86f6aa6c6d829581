package frame

import (
	"net/url"
	"testing"
)

func TestQuery(t *testing.T) {
	for _, tc := range []struct {
		name   string
		params url.Values
		want   string
	}{
		{"none", nil, ""},
		{"in the order of the names", url.Values{"fps": {"60"}, "size": {"8x8"}}, "?size=8x8&fps=60"},
		{"a plus stays", url.Values{"region": {"8x8+0+0"}}, "?region=8x8+0+0"},
		{"what is not named is left out", url.Values{"other": {"1"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Query(tc.params, "size", "region", "fps"); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
