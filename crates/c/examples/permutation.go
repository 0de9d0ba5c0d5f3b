// Go: go run permutation.go
package main

// #cgo pkg-config: bijective_shuffle
// #include <bijective_shuffle.h>
import "C"

import (
	"fmt"
	"unsafe"
)

func main() {
	items := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	if C.bs_shuffle(unsafe.Pointer(&items[0]), C.size_t(len(items)), 8, 42, 0) != C.BS_OK {
		panic(C.GoString(C.bs_error_text()))
	}
	fmt.Println(items)
}
