package session

import (
	"path/filepath"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
)

// TestInterruptedWhileTheVideoIsWritten: the measured values are kept. A part of a video is not.
//
// Fault: Ctrl-C or a cancelled job while pictures or video are made
func TestInterruptedWhileTheVideoIsWritten(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		frames int
		whole  bool
	}{"before its first frame": {0, false}, "in the middle": {3, false}, "behind its last frame": {atTheEnd, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := interrupted(t, &stopsAt{phase: "writing the video", frames: tc.frames})
			results, err := result.Read(filepath.Join(dir, result.FileName))
			if err != nil || (results.Video != nil) != tc.whole || len(results.Windows[0].Pictures) == 0 {
				t.Fatalf("%+v, %v", results, err)
			}
			if tc.whole {
				wantMissing(t, r, dir)
				wantFiles(t, dir, runfolder.VideoFile, results.Video.Map)
				return
			}
			wantMissing(t, r, dir, lacksVideo)
			wantFiles(t, dir)
		})
	}
}
