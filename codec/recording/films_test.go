package recording

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// Film is a recording of one of the phases, for tests outside of the package.
type Film struct {
	Name, Path string
	Frames     int // at 60 a second
}

// WriteFilms records each phase at 1280x720 and 6 pixels a frame. Then it records all in turn.
func WriteFilms(t testing.TB) (films []Film) {
	write := func(name string, f frame.Format, all [][]byte) {
		d := &memDisk{}
		record(t, d, f, all)
		path := filepath.Join(t.TempDir(), "film.eid")
		if err := os.WriteFile(path, d.b, 0o644); err != nil {
			t.Fatal(err)
		}
		films = append(films, Film{name, path, len(all)})
	}
	var f frame.Format
	var whole [][]byte
	for _, p := range phases() {
		var all [][]byte
		f, all = p.film(t, newStage(1280, 720, 6, 1), p.frames)
		write(p.name, f, all)
		whole = append(whole, all...)
	}
	write("all in turn", f, whole)
	return films
}
