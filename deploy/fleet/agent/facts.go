package agent

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/controller/certify"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/input/adb"
	"github.com/eideticker/eideticker/controller/sources"
)

// Times of the looks at devices.
const (
	factsEvery = 10 * time.Minute
	factsTime  = 5 * time.Second // for one device, and before the first poll
)

// facts are labels that take long to find.
type facts struct{ os, model, certified, network, versions string }

// examine finds the facts about all devices again and again, while none measures. found is closed
// after the first time. A fact that cannot be found now stays as it was.
func (a *Agent) examine(ctx context.Context, found chan<- struct{}) {
	for first := true; ctx.Err() == nil; first = false {
		if first || !measures(a.o.Devices()) {
			a.examineAll(ctx)
		}
		if first {
			close(found)
		}
		select {
		case <-time.After(factsEvery):
		case <-ctx.Done():
		}
	}
}

func (a *Agent) examineAll(ctx context.Context) {
	if a.o.Descriptions == nil {
		return
	}
	there, _ := sources.Find() // with an error it has those that were found
	for _, d := range a.o.Descriptions() {
		ctx, cancel := context.WithTimeout(ctx, factsTime)
		f := facts{certified: certified(d.Source, &there), network: networks(&d)}
		if serial, is := d.Android(); is {
			f.os = "android"
			f.model, f.versions = android(ctx, d, serial)
		} else if here(&d) {
			f.model = hostModel("/")
			f.versions = versions(d.Browsers, func(name string) string { return device.InstalledVersion(ctx, name) })
		}
		cancel()
		a.mu.Lock()
		was := a.facts[d.Name]
		a.facts[d.Name] = facts{f.os, cmp.Or(f.model, was.model), cmp.Or(f.certified, was.certified),
			cmp.Or(f.network, was.network), cmp.Or(f.versions, was.versions)}
		a.mu.Unlock()
	}
}

// here reports if a device's browsers are programs of this machine.
func here(d *device.Description) bool {
	return d.Source == device.Virtual || d.Input.Kind == device.InputX11
}

// android returns the model and the browsers' versions of an Android device.
func android(ctx context.Context, d device.Description, serial string) (model, browsers string) {
	found, err := adb.Server{Patience: factsTime}.Find(ctx, serial)
	if err != nil {
		return "", ""
	}
	model, _ = found.Run(ctx, "getprop ro.product.model") // without an answer it is unknown
	phone := device.NewAndroid(found, d, nil)
	return word(model), versions(d.Browsers, func(name string) string { return phone.Version(ctx, name) })
}

var majorForm = regexp.MustCompile(`\b([0-9]{1,4})\.[0-9]`)

// versions lists browsers with their major versions, such as firefox-140. Unknown ones are left
// out.
func versions(browsers []string, version func(name string) string) string {
	var all []string
	for _, name := range browsers[:min(len(browsers), 8)] {
		if m := majorForm.FindStringSubmatch(version(name)); m != nil {
			all = append(all, name+"-"+m[1])
		}
	}
	return strings.Join(all, ",")
}

// placeholders are names by which a maker does not name a machine.
var placeholders = []string{"", "systemproductname", "defaultstring", "tobefilledbyo.e.m.", "notspecified", "none"}

// hostModel returns this machine's model: the name of the product, the main board or the device
// tree.
func hostModel(root string) string {
	for _, file := range []string{"sys/class/dmi/id/product_name", "sys/class/dmi/id/board_name",
		"proc/device-tree/model"} {
		text, _ := os.ReadFile(filepath.Join(root, file)) // without it the next one counts
		if model := word(string(text)); !slices.Contains(placeholders, model) {
			return model
		}
	}
	return ""
}

// maxWord bounds a value that a device has named, in bytes.
const maxWord = 64

// word makes a label's value of a name: "Pixel 7" is pixel7.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-", r) {
			return r
		}
		return -1
	}, strings.ToLower(text))
	return strings.Trim(text[:min(len(text), maxWord)], "-")
}

// certified returns "yes" if the newest certificate of a source's device has not failed. It is ""
// for a source that is not there now, or that can have none.
func certified(source string, there *sources.Sources) string {
	path, _, _ := strings.Cut(source, "?")
	kind, node, is := strings.Cut(path, ":")
	if !is || kind != "v4l2" && kind != "x11" {
		return ""
	}
	if kind == "v4l2" {
		if real, err := filepath.EvalSymlinks(node); err == nil {
			path = "v4l2:" + real
		}
	}
	found := false
	var all []sources.Certificate // newest first
	for _, d := range there.Devices {
		if d.Source == path {
			found, all = true, d.Certificates
		}
	}
	for _, d := range there.Displays {
		if d.Source == strings.TrimSuffix(path, ".0") {
			found, all = true, d.Certificates
		}
	}
	if !found {
		return ""
	}
	if len(all) > 0 && all[0].Verdict != certify.Fail {
		return "yes"
	}
	return "no"
}

// networks returns the networks that tests can have on a device. Shaped is of built-in pages,
// replay of archives, and wifi of an access point.
func networks(d *device.Description) string {
	switch {
	case !shapes("/") || d.Input.Kind == device.InputWebdriver, d.Source != device.Virtual && d.Network == "":
		return "none"
	case d.Source == device.Virtual:
		return "shaped,replay"
	case d.AccessPoint != "":
		return "shaped,wifi"
	}
	return "shaped"
}

// shapes reports if this process may make networks of tests: it has CAP_NET_ADMIN, CAP_SYS_ADMIN
// and the kernel's tunnels.
func shapes(root string) bool {
	const needed = 1<<12 | 1<<21
	status, _ := os.ReadFile(filepath.Join(root, "proc/self/status")) // elsewhere than on Linux there is none
	_, rest, _ := strings.Cut(string(status), "CapEff:")
	line, _, _ := strings.Cut(rest, "\n")
	has, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	if err != nil || has&needed != needed {
		return false
	}
	f, err := os.OpenFile(filepath.Join(root, "dev/net/tun"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
