package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields of TracePacket and of its parts. The format keeps them for ever.
const (
	packetOfTrace = 1

	packetKernel     = 1
	packetTree       = 2
	packetKernelStat = 34
	packetStats      = 35
	packetSnapshot   = 6
	packetTime       = 8
	packetSequence   = 10
	packetEvent      = 11
	packetInterned   = 12
	packetFlags      = 13
	packetCleared    = 41
	packetDropped    = 42
	packetProcess    = 43
	packetThread     = 44
	packetCompressed = 50
	packetMetadata   = 51
	packetClock      = 58
	packetDefaults   = 59
	packetTrack      = 60
	packetFrame      = 76
	packetFirst      = 87 // of its writer

	treeProcess = 1
	treeThread  = 2
	treeID      = 1
	treeName    = 2
	treeGroup   = 3
	treeCommand = 3

	bundleCPU   = 1
	bundleEvent = 2
	bundleLost  = 3
	bundleBatch = 4
	bundleClock = 5

	kernelTime      = 1
	kernelThread    = 2
	kernelSwitch    = 4
	kernelWakeup    = 17
	kernelWaking    = 20
	kernelWakeupNew = 114

	switchPrevious = 2
	switchState    = 4
	switchName     = 5 // of the next thread
	switchNext     = 6
	wakingName     = 1 // in a switch: of the previous thread
	wakingThread   = 2

	batchSwitch    = 1
	batchState     = 2
	batchNext      = 3
	batchNames     = 5
	batchNextName  = 6
	batchWaking    = 7
	batchWoken     = 8
	batchWokenName = 11

	kernelPhase = 1
	kernelCPU   = 2
	cpuOverrun  = 3
	cpuCommits  = 4
	cpuDropped  = 8

	statsBuffer      = 1
	bufferOverwrites = 3
	bufferDiscards   = 18
	bufferLosses     = 19

	snapshotClock = 1
	clockID       = 1
	clockTime     = 2
	clockAdds     = 3 // times are differences
	clockUnit     = 4

	internedCategory   = 1
	internedName       = 2
	internedAnnotation = 3
	internedText       = 29
	entryID            = 1
	entryName          = 2

	defaultsEvent = 11
	defaultsClock = 58

	trackID      = 1
	trackName    = 2
	trackProcess = 3
	trackThread  = 4
	trackParent  = 5
	trackStatic  = 10

	threadProcess = 1
	threadID      = 2
	threadName    = 5
	processID     = 1
	processName   = 6

	eventCategoryID = 3
	eventArgument   = 4
	eventLegacy     = 6
	eventReporter   = 32   // until Chromium 151
	eventReporter2  = 1075 // an extension
	reporterState   = 1
	reporterSmooth  = 5
	reporterHost    = 11
	eventType       = 9
	eventNameID     = 10
	eventTrack      = 11
	eventCategory   = 22
	eventName       = 23
	eventCounter    = 30
	eventCounterF   = 44
	eventFlow       = 47
	eventFlowEnd    = 48

	legacyNameID   = 1
	legacyPhase    = 2
	legacyDuration = 3
	legacyUnscoped = 6
	legacyLocal    = 10
	legacyGlobal   = 11
	legacyProcess  = 18
	legacyThread   = 19

	argumentNameID = 1
	argumentBool   = 2
	argumentUint   = 3
	argumentInt    = 4
	argumentFloat  = 5
	argumentText   = 6
	argumentJSON   = 9
	argumentName   = 10
	argumentFields = 11
	argumentList   = 12
	argumentTextID = 17

	metadataBrowser = 2

	actualDisplay  = 2
	actualSurface  = 4
	frameEnd       = 5
	frameCookie    = 1
	displayToken   = 2
	displayPresent = 4
	displayJank    = 7
	surfaceDisplay = 3 // its token
	surfacePresent = 6
	surfaceJank    = 9
)

// field is a field of a message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	n      uint64 // of numbers
	bytes  []byte // of texts and messages
}

// numbers returns the numbers in the first fields of a message by the field's number.
func numbers(raw []byte) (all [12]uint64) {
	fields(raw, func(f field) {
		if int(f.number) < len(all) {
			all[f.number] = f.n
		}
	})
	return all
}

// fields goes through the fields of a message. It reports whether the message is well formed.
func fields(raw []byte, each func(f field)) bool {
	for len(raw) > 0 {
		f := field{}
		var n int
		f.number, f.kind, n = protowire.ConsumeTag(raw)
		if n < 0 {
			return false
		}
		raw = raw[n:]
		switch f.kind {
		case protowire.VarintType:
			f.n, n = protowire.ConsumeVarint(raw)
		case protowire.Fixed64Type:
			f.n, n = protowire.ConsumeFixed64(raw)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(raw)
			f.n = uint64(v)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(raw)
		default:
			n = protowire.ConsumeFieldValue(f.number, f.kind, raw)
		}
		if n < 0 {
			return false
		}
		raw = raw[n:]
		each(f)
	}
	return true
}
