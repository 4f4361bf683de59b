// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// openCheckouts opens the directories of flags in the form NAMESPACE/NAME=DIRECTORY.
func openCheckouts(flags []string) (inputs.Checkouts, error) {
	all := inputs.Checkouts{}
	for _, flag := range flags {
		source, dir, _ := strings.Cut(flag, "=")
		namespace, name, _ := strings.Cut(source, "/")
		key := types.NamespacedName{Namespace: namespace, Name: name}
		err := fmt.Errorf("--source %s is not in the form NAMESPACE/NAME=DIRECTORY", flag)
		switch {
		case namespace == "" || name == "" || strings.Contains(name, "/") || dir == "":
		case all[key] != nil:
			err = fmt.Errorf("--source %s is given twice", key)
		default:
			all[key], err = os.OpenRoot(dir)
		}
		if err != nil {
			closeCheckouts(all)
			return nil, err
		}
	}
	return all, nil
}

func closeCheckouts(all inputs.Checkouts) {
	for _, root := range all {
		if root != nil {
			_ = root.Close()
		}
	}
}

// checkCheckouts returns an error for a directory that no release takes values or its chart from.
func checkCheckouts(all inputs.Checkouts, releases ...*helmv2.HelmRelease) error {
	for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }) {
		if !slices.ContainsFunc(releases, func(hr *helmv2.HelmRelease) bool {
			return inputs.IsChartSource(hr, key) || slices.ContainsFunc(inputs.FileSources(hr), func(s inputs.FileSource) bool { return s.Key == key })
		}) {
			return fmt.Errorf("--source %s: neither spec.valuesFrom nor spec.chart takes files of such a source", key)
		}
	}
	return nil
}
