package recorder

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// A later version of the program may know causes that this one does not.
func TestUnknownCausesAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.eid")
	w, err := recording.Create(path, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Segment((&fakeSource{}).Info().Format, 1, 60); err != nil {
		t.Fatal(err)
	}
	if err := w.Gap(frame.Gap{First: 3, Count: 5, Cause: 255}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	res, err := summarize(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Account{First: 3, Last: 7, Total: 5, Missing: 5, Lost: []Loss{{255, 5}}}); !reflect.DeepEqual(
		res.Account, want) || !res.balanced() {
		t.Errorf("account %+v, want %+v", res.Account, want)
	}
}
