package logging

import "os"

// notifyUserSignal does nothing: Windows has no such signal.
func notifyUserSignal(chan<- os.Signal) {}
