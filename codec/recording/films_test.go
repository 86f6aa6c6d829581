package recording

import (
	"os"
	"path/filepath"
	"testing"
)

// Film is a recording of one of the phases, for tests outside of the package.
type Film struct {
	Name, Path string
	Frames     int // at 60 a second
}

// WriteFilms records all phases at 1280x720, 6 pixels a frame, from seed 1.
func WriteFilms(t testing.TB) (films []Film) {
	for _, p := range phases() {
		f, all := p.film(t, newStage(1280, 720, 6, 1), p.frames)
		d := &memDisk{}
		record(t, d, f, all)
		path := filepath.Join(t.TempDir(), "film.eid")
		if err := os.WriteFile(path, d.b, 0o644); err != nil {
			t.Fatal(err)
		}
		films = append(films, Film{p.name, path, len(all)})
	}
	return films
}
