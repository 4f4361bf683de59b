// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"math/rand/v2"
	"slices"
)

// All returns all attacks, in the order of their groups.
func All() []Attack {
	return slices.Concat(
		archives(), templates(), recordedTemplates(), schemas(), values(), files(), postRenderers(), expressions(), kubeconfigs(), servers(),
		storedRecords(), hooks(), policies(), pageAttacks(),
	)
}

// Worst returns the attacks of the short form.
func Worst() []Attack {
	return slices.DeleteFunc(All(), func(a Attack) bool { return !a.Worst })
}

// Named returns the attack with a name.
func Named(name string) (Attack, bool) {
	all := All()
	i := slices.IndexFunc(all, func(a Attack) bool { return a.Name == name })
	if i < 0 {
		return Attack{}, false
	}
	return all[i], true
}

// Sample returns n attacks, which the seed chooses. If there are fewer, it repeats them.
func Sample(all []Attack, n int, seed uint64) []Attack {
	chosen := slices.Clone(all)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	for i := 0; len(chosen) < n; i++ {
		chosen = append(chosen, chosen[i])
	}
	return chosen[:n]
}
