package link

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// radioOf returns the number of the radio that an interface of the calling thread's network belongs
// to; nil: it is none of a radio. (linux/nl80211.h)
func radioOf(index int) (*uint32, error) {
	family, err := radioFamily()
	if err != nil || family == 0 {
		return nil, err
	}
	req := nl.NewNetlinkRequest(int(family), 0)
	req.AddData(&nl.Genlmsg{Command: unix.NL80211_CMD_GET_INTERFACE})
	req.AddData(nl.NewRtAttr(unix.NL80211_ATTR_IFINDEX, nl.Uint32Attr(uint32(index))))
	messages, err := req.Execute(unix.NETLINK_GENERIC, 0)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return nil, nil // not one of a radio
	}
	if err != nil {
		return nil, fmt.Errorf("ask the kernel for radios: %w", err)
	}
	for _, m := range messages {
		if len(m) < nl.SizeofGenlmsg {
			continue
		}
		attrs, err := nl.ParseRouteAttr(m[nl.SizeofGenlmsg:])
		if err != nil {
			return nil, fmt.Errorf("ask the kernel for radios: %w", err)
		}
		for _, a := range attrs {
			if a.Attr.Type == unix.NL80211_ATTR_WIPHY && len(a.Value) >= 4 {
				wiphy := binary.NativeEndian.Uint32(a.Value)
				return &wiphy, nil
			}
		}
	}
	return nil, errors.New("ask the kernel for radios: it does not say which one")
}

// radioFamily is the number by which the kernel's part for radios is asked; 0: there is none.
func radioFamily() (uint16, error) {
	req := nl.NewNetlinkRequest(nl.GENL_ID_CTRL, 0)
	req.AddData(&nl.Genlmsg{Command: nl.GENL_CTRL_CMD_GETFAMILY, Version: nl.GENL_CTRL_VERSION})
	req.AddData(nl.NewRtAttr(nl.GENL_CTRL_ATTR_FAMILY_NAME, nl.ZeroTerminated(unix.NL80211_GENL_NAME)))
	messages, err := req.Execute(unix.NETLINK_GENERIC, 0)
	if errors.Is(err, unix.ENOENT) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ask the kernel for radios: %w", err)
	}
	for _, m := range messages {
		if len(m) < nl.SizeofGenlmsg {
			continue
		}
		attrs, err := nl.ParseRouteAttr(m[nl.SizeofGenlmsg:])
		if err != nil {
			return 0, fmt.Errorf("ask the kernel for radios: %w", err)
		}
		for _, a := range attrs {
			if a.Attr.Type == nl.GENL_CTRL_ATTR_FAMILY_ID && len(a.Value) >= 2 {
				return binary.NativeEndian.Uint16(a.Value), nil
			}
		}
	}
	return 0, nil
}

// moveRadio moves a radio of the calling thread's network, with all of its interfaces, to another
// network. to is a file of that network.
func moveRadio(wiphy uint32, to int) error {
	family, err := radioFamily()
	if err != nil {
		return err
	}
	req := nl.NewNetlinkRequest(int(family), unix.NLM_F_ACK)
	req.AddData(&nl.Genlmsg{Command: unix.NL80211_CMD_SET_WIPHY_NETNS})
	req.AddData(nl.NewRtAttr(unix.NL80211_ATTR_WIPHY, nl.Uint32Attr(wiphy)))
	req.AddData(nl.NewRtAttr(unix.NL80211_ATTR_NETNS_FD, nl.Uint32Attr(uint32(to))))
	_, err = req.Execute(unix.NETLINK_GENERIC, 0)
	return err
}
