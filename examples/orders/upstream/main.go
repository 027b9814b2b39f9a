// Command upstream is the shop of the example: a small REST API with orders in memory.
//
//	go run ./examples/orders/upstream [address]
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"hatchel/examples/orders/upstream/shop"
)

func main() {
	address := "127.0.0.1:8090"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	fmt.Printf("the shop answers at http://%s/api/v1\n", address)
	log.Fatal(http.ListenAndServe(address, shop.New()))
}
