package synth

import (
	"net/url"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// open opens a scene from a query and closes it after the test.
func open(t testing.TB, scene, query string) *Source {
	t.Helper()
	v, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(scene, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// render returns frame n in memory that held something else before.
func render(s *Source, n uint64) []byte {
	pix := make([]byte, s.Info().Format.Size())
	for i := range pix {
		pix[i] = byte(i*7 + 3)
	}
	s.Render(n, pix)
	return pix
}

// same compares whole frames, row by row.
func same(l *frame.Layout, a, b []byte) bool {
	for y := range l.Rows {
		if !l.RowEqual(y, l.Row(a, y), l.Row(b, y)) {
			return false
		}
	}
	return true
}

func sceneNames() []string {
	var names []string
	for _, s := range Scenes() {
		names = append(names, s.Name)
	}
	return names
}
