//go:build linux && amd64 && !rigvm

package link

import (
	"maps"
	"testing"

	"github.com/eideticker/eideticker/deploy/rigvm"
)

// TestVMSegment makes segments of a network card and of a radio: the kernel treats both otherwise
// than the virtual interfaces of other tests.
func TestVMSegment(t *testing.T) {
	rigvm.Need(t)
	files := map[string]string{}
	for name, pkg := range map[string]string{"dnsmasq": "dnsmasq-base", "hostapd": "hostapd",
		"wpa_supplicant": "wpasupplicant"} {
		maps.Copy(files, rigvm.NeedProgram(t, name, pkg))
	}
	vm := rigvm.Boot(t, rigvm.Config{
		Files: files,
		Modules: []rigvm.Module{
			{Name: "tun"}, {Name: "virtio_net"}, {Name: "mac80211_hwsim", Options: []string{"radios=2"}},
			{Name: "ccm"}, {Name: "cmac"}, {Name: "ctr"}, // which WPA2 is made of
		},
		// A cable between two cards.
		Devices: []string{
			"-netdev", "hubport,id=box,hubid=0", "-device", "virtio-net-pci,netdev=box,mac=52:54:00:00:00:01",
			"-netdev", "hubport,id=device,hubid=0", "-device", "virtio-net-pci,netdev=device,mac=52:54:00:00:00:02",
		},
	})
	rigvm.RunTests(t, vm, rigvm.Tests{Run: "^TestSegment(Cable|AccessPoint)$"})
}
