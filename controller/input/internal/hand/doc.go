// Package hand takes actions apart into what a keyboard, a mouse and a touch screen can be told at
// once, for drivers that press places.
//
// Place in the flow: a driver has its actions planned ([State.Plan]) before it does anything, so
// that what cannot be done leaves nothing half done; it then tells the device one [Step] after the
// other and keeps the state behind the last one that was told.
//
// A step names keys by their places only, has no text, and changes no thing twice: one report of a
// device can say it. It lies on the screen, and no finger moves in it that is not down.
package hand
