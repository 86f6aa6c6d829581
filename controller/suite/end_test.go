package suite

import (
	"strings"
	"testing"
	"time"
)

func TestSetEnd(t *testing.T) {
	for text, tc := range map[string]struct {
		want    Sync
		timeout time.Duration
		err     string
	}{
		"20s":      {Sync{Limit: 20 * time.Second}, time.Minute, ""},
		"2m":       {Sync{Limit: 2 * time.Minute}, 3 * time.Minute, ""},
		"still 5s": {Sync{Still: 5 * time.Second}, time.Minute, ""},
		"event x":  {Sync{Event: "x"}, time.Minute, ""},
		"still 5m": {err: "still 5m0s is not over before the run's timeout, 1m0s"},
		"soon":     {err: `unknown end "soon"`},
		"":         {err: "unknown end"},
	} {
		of := Test{URL: "http://a.example/", Sync: Sync{Still: time.Second}, Timeout: DefaultTimeout}
		err := of.SetEnd(text)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%q: %v, want %q", text, err, tc.err)
			}
			continue
		}
		if err != nil || of.Sync != tc.want || of.Timeout != tc.timeout {
			t.Errorf("%q: %+v within %v, %v", text, of.Sync, of.Timeout, err)
		}
	}
}
