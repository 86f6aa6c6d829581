package remote

import (
	"os"
	"path/filepath"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
)

// Upload returns a test file with its touch recordings. The test has no archive.
func Upload(file string, t *suite.Test) (*api.Upload, error) {
	name := filepath.Base(file)
	u := &api.Upload{Test: name, Files: map[string]string{name: string(t.Text)}}
	for _, other := range recordedIn(t.Steps) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), filepath.FromSlash(other)))
		if err != nil {
			return nil, err
		}
		u.Files[other] = string(text)
	}
	return u, nil
}

// UploadMade returns a test that has no file.
func UploadMade(t *suite.Test) (*api.Upload, error) {
	text, err := t.MarshalJSON() // is YAML too
	file := t.Name + ".yaml"
	return &api.Upload{Test: file, Files: map[string]string{file: string(text)}}, err
}

// recordedIn returns the touch recordings of steps.
func recordedIn(steps []suite.Step) (files []string) {
	for _, s := range steps {
		switch a := s.Action.(type) {
		case suite.Replay:
			for _, f := range a.Files {
				files = append(files, f.File)
			}
		case suite.Loop:
			files = append(files, recordedIn(a.Steps)...)
		case suite.Ping:
			files = append(files, recordedIn([]suite.Step{a.Do})...)
		}
	}
	return files
}
