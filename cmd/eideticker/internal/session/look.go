package session

import "github.com/eideticker/eideticker/cmd/eideticker/internal/rig"

// Labels are what runs are found by later. They say nothing to the run itself.
type Labels struct {
	Label    string `json:"label,omitempty"`
	Branch   string `json:"branch,omitempty"`   // of what is tested
	Revision string `json:"revision,omitempty"` // of what is tested
	Set      string `json:"set,omitempty"`      // name of the set's folder
}

// Look is how somebody beside a run looks on, such as a daemon that shows what is going on. The zero value is nobody.
type Look struct {
	Host     *rig.Host          // what the program has asked of the system for all of its recordings; nil: this one asks for itself
	Watch    rig.Watcher        // is shown the frames after the test's own screen; nil: nobody
	Progress func(rig.Progress) // as rig.Options; nil: nobody
	Recorded func(rig.Result)   // is told what the recording came to; nil: nobody
}

// watch has the test's screen and whoever looks on look at the same frames.
func (l *Look) watch(screen rig.Watcher) rig.Watcher {
	if l.Watch == nil {
		return screen
	}
	return rig.Together(screen, l.Watch)
}

func (l *Look) recorded(res rig.Result) {
	if l.Recorded != nil {
		l.Recorded(res)
	}
}
