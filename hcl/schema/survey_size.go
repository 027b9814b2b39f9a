package schema

// Bytes that decoded values take in addition to the interfaces that hold them, which belong to their collection.
const (
	sizeOfText    = 16
	sizeOfList    = 24
	sizeOfElement = 16  // of a list
	sizeOfHash    = 16  // of the element of a set, while it is compared with the others
	sizeOfMemo    = 192 // of the result for a list or an object in a memo
	sizeOfGroup   = 8 + 8*32
	sizeOfHeader  = 48       // of a map
	sizeOfTable   = 40 << 10 // of a map with more than one
)

// roundUp returns about how much memory is allocated for n bytes.
func roundUp(n int) int64 { return int64(n+n/16+7) &^ 7 }

// sizeOfMap returns how many bytes a map takes that was made for n members, without their names.
func sizeOfMap(n int) int64 {
	if n <= 8 {
		return sizeOfHeader + sizeOfGroup*int64(min(n, 1))
	}
	slots := 16
	for slots*7/8 < n && slots < 1024 {
		slots *= 2
	}
	if n <= 896 {
		return sizeOfHeader + roundUp(slots/8*sizeOfGroup)
	}
	tables := 1
	for tables*800 < n { // they hold 896, and are not equally full
		tables *= 2
	}
	return int64(tables) * sizeOfTable
}
