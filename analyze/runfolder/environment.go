package runfolder

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/codec/recording"
)

// MetadataName is the metadata with the facts about a device, written by its driver: an object of
// strings by the keys of result.Environment.
const MetadataName = "run.environment"

// environment gathers what a recording says about where it was made.
func environment(r *recording.Reader, program string) result.Environment {
	env := result.Environment{result.EnvRigBuild: r.Info().Writer, result.EnvAnalysisBuild: program}
	var source struct {
		URI string `json:"uri"`
	}
	var card struct {
		Card string `json:"card"`
	}
	told := map[string]string{}
	for _, m := range r.Metadata() {
		// A value of another form says nothing; the recording is not ours to judge here.
		switch m.Name {
		case "record.source":
			_ = json.Unmarshal(m.Value, &source)
		case "v4l2.device":
			_ = json.Unmarshal(m.Value, &card)
		case MetadataName:
			_ = json.Unmarshal(m.Value, &told)
		}
	}
	if scheme, _, ok := strings.Cut(source.URI, ":"); ok {
		env[result.EnvSource] = scheme
		if scheme == "x11" {
			env[result.EnvMachineShared] = "yes"
		}
	}
	if card.Card != "" {
		env[result.EnvCard] = card.Card
	}
	if segments := r.Segments(); len(segments) > 0 {
		env[result.EnvSignal] = signal(segments[0])
	}
	for _, key := range result.EnvironmentKeys() {
		if v := told[key]; v != "" {
			env[key] = v
		}
	}
	return env
}

// signal names a mode as "1920x1080 BGR4 at 59.94/s".
func signal(s recording.Segment) string {
	text := s.Layout.Format.String()
	switch {
	case s.PeriodNum > 0:
		text += fmt.Sprintf(" at %.5g/s", float64(s.PeriodDen)/float64(s.PeriodNum))
	case s.FemtoPeriod > 0:
		text += fmt.Sprintf(" at %.5g/s", 1e15/float64(s.FemtoPeriod))
	}
	return text
}
