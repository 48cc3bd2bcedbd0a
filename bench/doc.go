// Package bench measures the other rooms and holds the ratios that must not get
// worse. It has no exported names and is imported by nothing.
package bench
