package siterecord

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestStillnessNeedsARequest: a browser on a busy machine takes long to begin. Its stillness before
// that is not the end of a recording.
func TestStillnessNeedsARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) }
		traffic := traffic{next: http.HandlerFunc(page)}
		quiet := func(when string, want bool) {
			t.Helper()
			if traffic.quiet(still) != want {
				t.Errorf("quiet %s: %v", when, !want)
			}
		}
		ask := func(site string) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Sec-Fetch-Site", site)
			traffic.ServeHTTP(httptest.NewRecorder(), r)
		}
		time.Sleep(time.Hour)
		quiet("before the first request", false)
		if traffic.begun() {
			t.Error("it has begun")
		}
		ask("none") // of the browser itself
		time.Sleep(still)
		quiet("before the page's request", false)
		go ask("cross-site")
		time.Sleep(still)
		quiet("during a request", false)
		if !traffic.begun() {
			t.Error("it has not begun")
		}
		time.Sleep(time.Minute - 1)
		quiet("right after it", false)
		time.Sleep(still)
		quiet("some time after it", true)
	})
}
