package remote

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
)

// TestFetchFurther: runs with measuring code come from the folder why of a rig's set. A job without
// them has none.
func TestFetchFurther(t *testing.T) {
	for name, one := range map[string]struct {
		set        string
		said, fail string
		runs       int
	}{
		"none": {"", "", "", 0},
		"some": {`{"runs":[{"dir":"a/run-01","state":"ok"},{"dir":"b/run-01","state":"ok"},
			{"dir":"a/failed/run-02.1","state":"failed","reason":"loose"}]}`, "loose", "",
			2},
		"hostile": {`{"runs":[{"dir":"../../x","state":"ok"}]}`, "", "invalid run ID", 0},
		"broken":  {"{", "", "unexpected end", 0},
	} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text := map[string]string{"set.json": one.set,
				"run.json": `{"schema":"eideticker.run","version":1,"state":"ok","test":"t"}`}[path.Base(r.URL.Path)]
			if text == "" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = io.WriteString(w, text) // the client sees it
		}))
		c, err := client.New(h.URL, "")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		failed, err := (&Job{Job: api.Job{ID: "job"}, rig: c}).FetchFurther(t.Context(), dir)
		h.Close()
		if one.fail == "" && err != nil || one.fail != "" && (err == nil || !strings.Contains(err.Error(), one.fail)) ||
			strings.Join(failed, " ") != one.said {
			t.Errorf("%s: %v, %q", name, err, failed)
		}
		runs, _ := filepath.Glob(filepath.Join(dir, "why", "*", "run-*", "run.json"))
		_, err = os.Stat(filepath.Join(dir, "why", "set.json"))
		if len(runs) != one.runs || (err == nil) != (one.runs > 0) {
			t.Errorf("%s: runs %v", name, runs)
		}
	}
}

// TestCauses: the variants of a fleet's set are compared with the first one, by the hub.
func TestCauses(t *testing.T) {
	var asked []string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == "set.json" {
			_, _ = io.WriteString(w, `{"variants":["a","b","c"]}`) // the client sees it
			return
		}
		var call struct {
			ID     json.RawMessage
			Params api.CompareParams
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		asked = append(asked, call.Params.Base+" "+call.Params.With)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"comparison":{"answer":"It is worse.",
			"cause":"price ran."}}}`, call.ID)
	}))
	defer h.Close()
	c, err := client.New(h.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	causes, err := (&FleetJob{hub: c}).Causes(t.Context(), "lab-1/s-x.1", nil)
	if err != nil || strings.Join(causes, "; ") != "It is worse. price ran.; It is worse. price ran." ||
		strings.Join(asked, ", ") != "lab-1/s-x.1~a lab-1/s-x.1~b, lab-1/s-x.1~a lab-1/s-x.1~c" {
		t.Errorf("%v, asked %q: %q", err, asked, causes)
	}
}
