package session

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/site"
)

// TestMessagesOfReloadedPage: the report of a page has the clock of one load.
func TestMessagesOfReloadedPage(t *testing.T) {
	for restarts, want := range []int{1, 0} {
		found := &runfolder.Found{Results: result.Results{Windows: []result.Window{{Channel: &result.Channel{}}}},
			Channels: []*payload.Account{{Packets: 3, Restarts: restarts, Zero: 1e9, Messages: []payload.Message{
				{Frame: 1, Data: []byte(`{"kind":"gc","at":10,"ms":2}`)}}}}}
		report := &site.Report{Told: &site.Told{Messages: 1}, Zero: timeline.At(1e9)}
		trace := addMessages(found, report)
		w := &found.Results.Windows[0]
		if (trace != nil) != (want == 1) || (found.Results.Profile != nil) != (want == 1) || w.Channel.Told != 1 {
			t.Errorf("%d restarts: trace %+v", restarts, trace)
		}
		if text := strings.Join(w.Warnings, " "); strings.Contains(text, "loaded again") != (restarts > 0) {
			t.Errorf("%d restarts: warnings %q", restarts, text)
		}
	}
}
