package approval

import "strings"

const progressText = "waits for approval "

// ProgressMessage returns the message of the progress of a call that waits for an approval.
func ProgressMessage(id string) string { return progressText + id }

// AwaitedID returns the ID of the approval in a message of [ProgressMessage]; empty for another message.
func AwaitedID(message string) string {
	if id, ok := strings.CutPrefix(message, progressText); ok {
		return id
	}
	return ""
}
