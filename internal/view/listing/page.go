// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package listing

// PageSize is the maximum number of rows of a page.
const PageSize = 50

// Paging is the position of one page in a list.
type Paging struct {
	// First and Last are the numbers of its rows, of Matching; 0 without any.
	First, Last, Matching int
	Page, Pages           int
}

// PagingOf returns the position of a page in a list with n rows. A page after the last one is the last one.
func PagingOf(n, page int) Paging {
	p := Paging{Matching: n, Pages: max(1, (n+PageSize-1)/PageSize)}
	p.Page = min(max(1, page), p.Pages)
	if n > 0 {
		p.First = (p.Page-1)*PageSize + 1
		p.Last = min(p.First+PageSize-1, n)
	}
	return p
}

// Rows returns the rows of a page.
func Rows[T any](all []T, p Paging) []T {
	if p.Matching == 0 {
		return nil
	}
	return all[p.First-1 : p.Last]
}

// Limited is the first entries of a list, with the number of the others.
type Limited[T any] struct {
	Entries []T
	More    int
}

// Len returns the number of all entries.
func (l Limited[T]) Len() int { return len(l.Entries) + l.More }

// First returns at most n entries of a list.
func First[T any](all []T, n int) Limited[T] {
	n = min(len(all), n)
	return Limited[T]{Entries: all[:n:n], More: len(all) - n}
}
