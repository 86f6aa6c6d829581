package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/eideticker/eideticker/deploy/config"
)

// Storage is one server of the external NATS cluster that stores a fleet's jobs.
type Storage struct {
	URL   string // of its /varz; "": fleet.nats_varz is not set
	Name  string
	Syncs bool // JetStream has sync_always
	Err   error
}

// askCluster asks the servers of a fleet's cluster. The embedded server syncs always.
func askCluster(ctx context.Context, f config.Fleet) (all []Storage) {
	if f.NATS == "" {
		return nil
	}
	for _, url := range f.Varz {
		all = append(all, askVarz(ctx, url))
	}
	if all == nil {
		all = []Storage{{}}
	}
	return all
}

func askVarz(ctx context.Context, url string) Storage {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var varz struct {
		Name      string `json:"server_name"`
		JetStream struct {
			Config struct {
				Syncs bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err == nil {
		var answer *http.Response
		if answer, err = http.DefaultClient.Do(request); err == nil {
			defer answer.Body.Close() // was only read
			if answer.StatusCode == http.StatusOK {
				err = json.NewDecoder(io.LimitReader(answer.Body, maxFile)).Decode(&varz)
			} else {
				err = fmt.Errorf("status %s", answer.Status)
			}
		}
	}
	return Storage{URL: url, Name: varz.Name, Syncs: varz.JetStream.Config.Syncs, Err: err}
}

// storage reports whether acknowledged jobs survive a power cut of the cluster.
func (b *Box) storage(g *group) {
	for _, s := range b.Storage {
		f := Finding{ID: "fleet-storage", Object: s.URL, Found: fmt.Sprintf("%.60s has sync_always", s.Name)}
		switch {
		case s.URL == "":
			f.Level, f.Found = Warn, "the NATS cluster of the fleet is not checked for sync_always"
			f.Advice = "Set fleet.nats_varz to the /varz address of each server."
		case s.Err != nil:
			f.Level, f.Found = Warn, "does not answer: "+reason(s.Err)
			f.Advice = "Start the NATS server, or correct fleet.nats_varz."
		case !s.Syncs:
			f.Level, f.Found = Fail, fmt.Sprintf("%.60s has no sync_always in its JetStream", s.Name)
			f.Advice = "Set sync_interval: always in its jetstream block, since a power cut loses jobs."
		}
		g.add(f)
	}
}
