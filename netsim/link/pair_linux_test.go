package link

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestKernelLacks: a discipline that the kernel does not have is told from one that this program may not make: no right helps against the first.
func TestKernelLacks(t *testing.T) {
	n, err := NewNamespace(ServerAddress.Addr().String())
	if no := (*PrivilegeError)(nil); errors.As(err, &no) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	tun := -1
	if err := n.Do(func() (err error) { tun, err = openTUN(tunName); return err }); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(tun)
	e := end{n}
	have := func(f func(*netlink.Handle, netlink.Link) error) error {
		return e.have("do it", "nothing", "sch_nothing", f)
	}
	// The kernel itself is asked for one that none has.
	err = have(func(h *netlink.Handle, l netlink.Link) error {
		return h.QdiscAdd(&netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: bucketHandle}, QdiscType: "nothing"})
	})
	var lacks *KernelError
	if !errors.As(err, &lacks) || lacks.Module != "sch_nothing" || !errors.Is(err, errors.ErrUnsupported) || strings.Contains(err.Error(), "root") {
		t.Errorf("%v", err)
	}
	err = have(func(*netlink.Handle, netlink.Link) error { return fmt.Errorf("no: %w", unix.EPERM) })
	if no := (*PrivilegeError)(nil); !errors.As(err, &no) {
		t.Errorf("%v", err)
	}
	if err := have(func(*netlink.Handle, netlink.Link) error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestNetemHere: the kernel that runs this has netem, or it is said that it does not, and what to take.
func TestNetemHere(t *testing.T) {
	p, err := OpenNetem(Conditions{})
	var lacks *KernelError
	switch no := (*PrivilegeError)(nil); {
	case err == nil:
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	case errors.As(err, &no) && os.Geteuid() != 0 && os.Getenv("CI") != "true":
		t.Skip(err)
	case !errors.As(err, &lacks) || !strings.Contains(err.Error(), "a packet link does without"):
		t.Errorf("%v", err)
	}
}
