// Which partition of the store holds a feed, and the prefix of its keys. Needs only Go.
//
//	feedmill list --json | jq -r .url | go run partition.go 16      (redis.partitions; canonical URLs, one a line)
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
)

func crc16(text string) (crc uint) { // XMODEM variant
	for _, letter := range []byte(text) {
		crc ^= uint(letter) << 8
		for bit := 0; bit < 8; bit++ {
			crc = (crc<<1 ^ (crc>>15)*0x1021) & 0xffff
		}
	}
	return crc
}

var host = regexp.MustCompile(`^https?://(\[[^\]]*\]|[^:/?#]*)`)

// partitionOf returns the same partition for all feeds of a host.
func partitionOf(feedURL string, partitions uint) uint {
	return crc16(host.FindStringSubmatch(feedURL)[1]) % partitions
}

// keyPrefix returns what follows redis.key_prefix. An unpartitioned store has this prefix only in a cluster.
func keyPrefix(partition, partitions uint) string {
	for endings := []string{""}; partitions > 1; endings = endings[1:] {
		for letter := 'a'; letter <= 'z'; letter++ {
			ending := endings[0] + string(letter)
			tag := fmt.Sprintf("p%03d.%s", partition, ending)
			if crc16(tag)%16384*partitions/16384 == partition { // as many as a cluster has slots
				return "{" + tag + "}:"
			}
			endings = append(endings, ending)
		}
	}
	return "{p000}:"
}

func main() {
	var partitions uint
	if len(os.Args) == 2 {
		fmt.Sscan(os.Args[1], &partitions)
	}
	if partitions == 0 {
		fmt.Fprintln(os.Stderr, "usage: partition PARTITIONS <URLS")
		os.Exit(1)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		partition := partitionOf(lines.Text(), partitions)
		fmt.Println(partition, keyPrefix(partition, partitions))
	}
}
