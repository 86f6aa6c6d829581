package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An unknown run may be the name of a baseline: the rig is asked then, and the run behind the
// name is
// fetched. Here that one is gone, too.
func TestPullOfABaseline(t *testing.T) {
	const id = "20261121-201530-framerate-k7f2"
	for _, tc := range []struct {
		id   string
		want []string // paths below /api/v1 that are asked for
		says string
	}{
		{"release", []string{"/runs/release/zip", "/rpc", "/runs/" + id + "/zip"}, "no " + id},
		{"nightly", []string{"/runs/nightly/zip", "/rpc"}, "no nightly"},
	} {
		var asked []string
		rig := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path := strings.TrimPrefix(r.URL.Path, "/api/v1")
			asked = append(asked, path)
			if path == "/rpc" {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": 1,
			"result": {"baselines": [{"name": "other", "id": "x"}, {"name": "release", "id": %q}]}}`, id)
				return
			}
			http.Error(w, "no "+strings.Split(path, "/")[2], http.StatusNotFound)
		}))
		var out, told bytes.Buffer
		code := run(t.Context(), []string{"pull", tc.id, "--rig", rig.URL, "-o", filepath.Join(t.TempDir(), "got")},
			strings.NewReader(""), &out, &told)
		rig.Close()
		if code != exitFailure || !strings.Contains(told.String(), tc.says) {
			t.Errorf("%s: exit code %d, %s%s", tc.id, code, out.String(), told.String())
		}
		if !slices.Equal(asked, tc.want) {
			t.Errorf("%s: it asks for %q, want %q", tc.id, asked, tc.want)
		}
	}
}
