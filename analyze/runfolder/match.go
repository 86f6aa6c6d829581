package runfolder

import (
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/codec/recording"
)

// ResultsAreOf says why results are not of a recording, or nil if they are.
func ResultsAreOf(results result.Recording, r *recording.Reader, file string) error {
	id := fmt.Sprintf("%x", r.Info().ID)
	switch {
	case results.ID != "" && !strings.EqualFold(strings.ReplaceAll(results.ID, "-", ""), id):
		return fmt.Errorf("the results are of recording %s, and %s is %s: analyze it again", results.ID, file, id)
	case results.Frames != r.Frames():
		return fmt.Errorf("the results are of a recording of %s, and %s has %d: analyze it again",
			wording.Plural(results.Frames, "frame"), file, r.Frames())
	}
	return nil
}
