package session

import "github.com/eideticker/eideticker/codec/recorder"

// Labels are what runs are found by later. They say nothing to the run itself.
type Labels struct {
	Label    string `json:"label,omitempty"`
	Branch   string `json:"branch,omitempty"`   // of what is tested
	Revision string `json:"revision,omitempty"` // of what is tested
	Set      string `json:"set,omitempty"`      // name of the set's folder
}

// Look is how somebody beside a run looks on, such as a daemon that shows what is going on. The
// zero value is nobody.
type Observer struct {
	// what the program has asked of the system for all of its recordings; nil: this one asks for
	// itself
	Host     *recorder.Host
	Watch    recorder.Watcher        // is shown the frames after the test's own screen; nil: nobody
	Progress func(recorder.Progress) // as rig.Options; nil: nobody
	Recorded func(recorder.Result)   // is told what the recording came to; nil: nobody
}

// watch has the test's screen and whoever looks on look at the same frames.
func (l *Observer) watch(screen recorder.Watcher) recorder.Watcher {
	if l.Watch == nil {
		return screen
	}
	return recorder.Together(screen, l.Watch)
}

func (l *Observer) recorded(res recorder.Result) {
	if l.Recorded != nil {
		l.Recorded(res)
	}
}
